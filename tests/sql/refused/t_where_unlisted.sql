-- code: unlisted-value
-- underlined: 'cafee'
-- says: write 'cafe'
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category = 'cafee'
