"""Listed spaces: categories, clusters, given distances, embedded keys."""
