-- code: set-operation
-- underlined: INTERSECT
-- says: both sides
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits INTERSECT SELECT AVG(price) FROM visits
