-- code: position
-- underlined: 3
-- says: 2 entries
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) category, AVG(price) FROM visits GROUP BY 3
