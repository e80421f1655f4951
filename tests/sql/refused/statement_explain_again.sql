-- code: explain
-- underlined: EXPLAIN
-- says: EXPLAIN is refused
EXPLAIN ANALYZE SELECT 1
