-- code: text-as-number
-- underlined: 'one'
-- says: without quotes
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(CASE category WHEN 'cafe' THEN 'one' ELSE 0 END) FROM visits
