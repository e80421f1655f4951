-- code: comparison
-- underlined: price > 10
-- says: RAMP(price, 5, 10)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE price > 10
