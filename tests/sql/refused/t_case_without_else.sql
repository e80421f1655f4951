-- code: case-else
-- underlined: CASE category WHEN 'cafe' THEN 1 END
-- says: ELSE 0
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(CASE category WHEN 'cafe' THEN 1 END) FROM visits
