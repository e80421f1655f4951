-- code: no-items
-- underlined: RAMP(price, 200, 300)
-- says: choose records
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE RAMP(price, 200, 300)
