-- code: comparison
-- underlined: price = 3
-- says: RAMP(ABS(price - 3), 5, 0)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE price = 3
