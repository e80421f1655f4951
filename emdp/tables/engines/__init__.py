"""Engines: one folder each, and how a long call is waited for."""
