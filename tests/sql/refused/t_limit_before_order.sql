-- code: not-given-back
-- underlined: ORDER BY 1
-- says: write ORDER BY before LIMIT
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits LIMIT 10 ORDER BY 1
