-- code: ramp-ends
-- underlined: RAMP(price, 2, 1 + 1)
-- says: would jump
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(RAMP(price, 2, 1 + 1)) FROM visits
