-- code: option-value
-- underlined: alpha
-- says: lacks its value
SELECT WITH EMD_PRIVACY OPTIONS (alpha: 1) AVG(price) FROM visits
