"""Searches for frequent strings: price, draw, rows."""
