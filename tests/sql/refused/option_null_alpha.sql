-- code: option-value
-- underlined: alpha = NULL
-- says: number above 0
SELECT WITH EMD_PRIVACY OPTIONS (alpha = NULL) AVG(price) FROM visits
