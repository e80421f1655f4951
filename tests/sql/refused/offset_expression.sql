-- code: limit
-- underlined: 2 * 3
-- says: whole number
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY category LIMIT 5 OFFSET 2 * 3
