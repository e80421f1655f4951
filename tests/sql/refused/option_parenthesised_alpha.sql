-- code: option-value
-- underlined: alpha = (
-- says: not computed
SELECT WITH EMD_PRIVACY OPTIONS (alpha = (1)) AVG(price) FROM visits
