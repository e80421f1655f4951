-- code: interval
-- underlined: INTERVAL 1 DAY
-- says: unit
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE at > INTERVAL 1 DAY
