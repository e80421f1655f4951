-- code: jump-function
-- underlined: round(price, 1)
-- says: RAMP(price, a, b)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(round(price, 1)) FROM visits
