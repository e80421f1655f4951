"""Contribution of one user to a statistic, and the cap that bounds it."""
