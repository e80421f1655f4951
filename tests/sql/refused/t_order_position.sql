-- code: position
-- underlined: 4
-- says: 1 entry
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits ORDER BY 4
