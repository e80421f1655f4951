"""A mean over users by range-then-mean, in the central, local and shuffle model."""
