"""Values in SQL: points, literals, functions, comparisons."""
