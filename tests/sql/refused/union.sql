-- code: set-operation
-- underlined: UNION
-- says: two statements
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits UNION SELECT AVG(price) FROM visits
