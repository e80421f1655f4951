"""Spaces made of others: products, and grids over them."""
