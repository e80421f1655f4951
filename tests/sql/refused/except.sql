-- code: set-operation
-- underlined: EXCEPT
-- says: both sides
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits EXCEPT SELECT AVG(price) FROM visits
