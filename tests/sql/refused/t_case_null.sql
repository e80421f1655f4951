-- code: null
-- underlined: NULL
-- says: never true
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(CASE category WHEN NULL THEN 1 ELSE 0 END) FROM visits
