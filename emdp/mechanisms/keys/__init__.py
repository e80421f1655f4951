"""Keys that nobody listed: counts of users by key with noise, and a threshold that a key has to pass."""
