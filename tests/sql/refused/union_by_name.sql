-- code: set-operation
-- underlined: UNION ALL BY NAME
-- says: both sides
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) AS a FROM visits UNION ALL BY NAME SELECT AVG(price) AS a FROM visits
