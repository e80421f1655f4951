-- code: comparison
-- underlined: price BETWEEN 10 AND 20
-- says: RAMP(price, 5, 10) * RAMP(price, 25, 20)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE price BETWEEN 10 AND 20
