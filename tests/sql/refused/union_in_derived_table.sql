-- code: set-operation
-- underlined: UNION ALL
-- says: both sides
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM (SELECT price FROM visits UNION ALL SELECT price FROM visits) AS q
