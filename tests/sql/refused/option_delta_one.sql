-- code: option-value
-- underlined: delta = 1
-- says: excluded
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1, delta = 1) AVG(price) FROM visits
