"""Local randomizers of one bounded vector."""
