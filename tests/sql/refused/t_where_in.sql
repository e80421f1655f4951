-- code: comparison
-- underlined: price IN (1, 2)
-- says: RAMP(ABS(price - 1), 5, 0)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE price IN (1, 2)
