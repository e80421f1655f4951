"""Names in a statement: what each may mean, and the type check of what was translated."""
