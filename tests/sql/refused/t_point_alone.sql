-- code: misplaced
-- underlined: POINT(1, 2)
-- says: DISTANCE(POINT
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(POINT(1, 2)) FROM visits
