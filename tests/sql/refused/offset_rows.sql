-- code: not-given-back
-- underlined: ROWS
-- says: leave it out
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY category OFFSET 2 ROWS
