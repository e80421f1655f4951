-- code: group-text
-- underlined: 'category'
-- says: write category
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY 'category'
