"""Totals over rows that each belong to one user, with noise for a user's whole contribution."""
