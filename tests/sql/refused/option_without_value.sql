-- code: option-value
-- underlined: alpha
-- says: lacks its value
SELECT WITH EMD_PRIVACY OPTIONS (alpha) AVG(price) FROM visits
