-- code: misplaced
-- underlined: VECTOR[1, 2]
-- says: as in DOT(VECTOR[x, y], VECTOR[1, 0])
-- about: plane
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(VECTOR[1, 2]) FROM visits
