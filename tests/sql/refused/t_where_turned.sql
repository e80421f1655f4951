-- code: comparison
-- underlined: 10 >= price
-- says: RAMP(price, 15, 10)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE 10 >= price
