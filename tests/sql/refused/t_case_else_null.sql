-- code: null-value
-- underlined: NULL
-- says: no number
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(CASE category WHEN 'cafe' THEN 1 ELSE NULL END) FROM visits
