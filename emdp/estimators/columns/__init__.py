"""Columns of an answer from released coordinates: values, ratios, pairs, moments, their order."""
