"""Statements of engines, as trees: from expressions and aggregations to SQL."""
