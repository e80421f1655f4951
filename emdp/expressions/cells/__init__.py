"""Values of records spread over cells: what is computed, its reference, its sensitivity and error."""
