-- code: constant-condition
-- underlined: 0.5
-- says: same for every record
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE 0.5
