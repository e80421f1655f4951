-- code: having
-- underlined: HAVING COUNT(*) > 10
-- says: filter the answer
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY category HAVING COUNT(*) > 10
