"""Continuous spaces: numbers, circles, places, vectors."""
