"""Functions of a row: from the tree of a statement to nodes, or a refusal."""
