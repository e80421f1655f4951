"""User-level means by range-then-mean: price and rows."""
