"""Frequencies of cells and items: methods, errors, rows and regions (EMD 6)."""
