-- code: category-as-number
-- underlined: category
-- says: write CASE category WHEN 'cafe' THEN 1 ELSE 0 END, or DISTANCE(category, 'cafe')
-- about: fq
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(category) FROM visits
