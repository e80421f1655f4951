-- code: option-value
-- underlined: alpha = 1 /
-- says: not computed
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1 / 2) AVG(price) FROM visits
