"""Means over users of the mean over their records (EMD 2), in the central and local model."""
