-- code: limit
-- underlined: -1
-- says: whole number
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY category LIMIT -1
