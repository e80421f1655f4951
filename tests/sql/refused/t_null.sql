-- code: null-value
-- underlined: NULL
-- says: on_invalid
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price + NULL) FROM visits
