"""Quantiles from a smoothed distribution function."""
