-- code: argument-count
-- underlined: RAMP(price, 1)
-- says: RAMP(e, a, b)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(RAMP(price, 1)) FROM visits
