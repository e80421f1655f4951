-- code: limit
-- underlined: 2.5
-- says: whole number
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY category LIMIT 2.5
