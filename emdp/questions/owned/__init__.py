"""Questions at user level: relations whose rows each belong to one user, and totals over them."""
