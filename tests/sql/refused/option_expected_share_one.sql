-- code: option-value
-- underlined: expected_share = 1
-- says: between 0 and 1
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, expected_share = 1) AVG(price) FROM visits WHERE category = 'cafe'
