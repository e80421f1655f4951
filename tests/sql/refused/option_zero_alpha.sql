-- code: option-value
-- underlined: alpha = 0
-- says: above 0
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 0) AVG(price) FROM visits
