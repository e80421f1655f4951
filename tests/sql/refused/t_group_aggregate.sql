-- code: position
-- underlined: 2
-- says: is an aggregate
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) category, AVG(price) FROM visits GROUP BY 2
