-- code: unknown-option
-- underlined: share
-- says: did you mean expected_share?
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, share = 0.5) AVG(price) FROM visits WHERE category = 'cafe'
