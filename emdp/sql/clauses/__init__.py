"""Clauses of a statement: what each comes down to."""
