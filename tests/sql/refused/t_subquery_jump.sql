-- code: comparison
-- underlined: price > 3
-- says: RAMP(price, -2, 3)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM (SELECT price FROM visits WHERE price > 3) AS q
