"""Randomizers of single items: one in, one out, with ``alpha0``-``d_X`` privacy (EMD 3 and 4)."""
