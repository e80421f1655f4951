"""Totals under a cap, for user-level privacy."""
