-- code: comparison
-- underlined: lat > price
-- says: RAMP(lat - (price), -1, 0)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE lat > price
