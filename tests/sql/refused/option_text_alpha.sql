-- code: option-value
-- underlined: alpha = '1'
-- says: number above 0
SELECT WITH EMD_PRIVACY OPTIONS (alpha = '1') AVG(price) FROM visits
