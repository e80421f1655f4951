-- code: case-condition
-- underlined: RAMP(price, 0, 1)
-- says: one categorical column
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(CASE WHEN RAMP(price, 0, 1) THEN 1 ELSE 0 END) FROM visits
