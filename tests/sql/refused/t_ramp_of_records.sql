-- code: constant-needed
-- underlined: price
-- says: the end of RAMP must be a constant
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(RAMP(lat, 1, price)) FROM visits
