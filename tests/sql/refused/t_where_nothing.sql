-- code: no-items
-- underlined: category = 'cafe'
-- says: at least one value
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category = 'cafe' AND category = 'bar'
