-- code: explain
-- underlined: EXPLAIN
-- says: EXPLAIN is refused
EXPLAIN SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits
