"""Row expressions: deterministic functions of one row, which cost nothing under a user-level guarantee."""
