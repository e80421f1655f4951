-- code: not-given-back
-- underlined: GROUP BY category
-- says: write the clauses in the order WHERE, GROUP BY, ORDER BY, LIMIT
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY category WHERE category = 'bar'
