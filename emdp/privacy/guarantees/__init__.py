"""Guarantees, conversions between them, and alpha from what is to be protected (EMD 1)."""
