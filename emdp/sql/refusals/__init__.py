"""Refusals: what the language has no use for, and what to write instead."""
