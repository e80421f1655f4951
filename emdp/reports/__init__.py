"""Batch reports: definitions, runs, pages."""
