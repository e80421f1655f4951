-- code: position
-- underlined: 0.7
-- says: 0.7 is no position in the select list, which has 1 entry
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY 0.7
