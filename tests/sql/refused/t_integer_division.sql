-- code: jump-operator
-- underlined: price // 2
-- says: RAMP(e, a, b)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price // 2) FROM visits
