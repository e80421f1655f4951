-- code: condition-as-number
-- underlined: price > 3
-- says: RAMP(e, a, b)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price > 3) FROM visits
