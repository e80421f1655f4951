"""Local randomizers of one bounded number."""
