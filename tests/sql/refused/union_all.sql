-- code: set-operation
-- underlined: UNION ALL
-- says: both sides
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits UNION ALL SELECT AVG(price) FROM visits
