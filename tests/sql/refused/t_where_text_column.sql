-- code: no-condition
-- underlined: category
-- says: category = 'cafe'
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category
