-- code: not-given-back
-- underlined: , 2
-- says: another way
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY category LIMIT 5, 2
