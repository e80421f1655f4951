-- code: position
-- underlined: 1.5
-- says: 1.5 is no position in the select list, which has 2 entries
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price), AVG(lat) FROM visits ORDER BY 1.5
