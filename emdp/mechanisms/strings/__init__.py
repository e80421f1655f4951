"""Frequent strings of an unknown list."""
