"""The mean of users' vectors, in the central and local model."""
