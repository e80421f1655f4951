-- code: jump-function
-- underlined: FLOOR(price)
-- says: RAMP(price, a, b)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(FLOOR(price)) FROM visits
