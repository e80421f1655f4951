-- code: category-as-number
-- underlined: category
-- says: CASE category WHEN
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(category) FROM visits
