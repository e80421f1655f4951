"""Item-wise releases: price, draw, rows."""
