"""The type checker: Lipschitz constants, ranges and rounding errors of expressions and vectors."""
