-- code: argument-count
-- underlined: POINT(1, 2, 3)
-- says: POINT(40.7, -74.0)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(POINT(1, 2, 3))) FROM visits
