-- code: comparison
-- underlined: price > 10
-- says: RAMP(price, 5, 10) * a + (1 - RAMP(price, 5, 10)) * b
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(CASE WHEN price > 10 THEN 1 ELSE 0 END) FROM visits
