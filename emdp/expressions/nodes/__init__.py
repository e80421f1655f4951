"""Nodes of expressions: what an analyst writes, each with its rule (EMD 2)."""
