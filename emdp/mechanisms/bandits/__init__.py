"""Linear bandits in batches of disjoint users: designs of a batch, what it tells of rewards, how sure that is."""
