"""Frequency oracles: one message a user, from which shares of items are estimated."""
