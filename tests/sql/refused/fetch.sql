-- code: fetch
-- underlined: FETCH FIRST 3 ROWS ONLY
-- says: LIMIT 10
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY category FETCH FIRST 3 ROWS ONLY
