-- code: constant-condition
-- underlined: 1 = 1
-- says: leave it out
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE 1 = 1
