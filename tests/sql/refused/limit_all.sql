-- code: limit
-- underlined: ALL
-- says: whole number
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY category LIMIT ALL
