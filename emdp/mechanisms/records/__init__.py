"""Quantiles of records and numbers of different values, each user with a bounded contribution."""
