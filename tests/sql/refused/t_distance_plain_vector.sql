-- code: point-kind
-- underlined: DISTANCE(1, 2)
-- says: write DISTANCE(VECTOR[1, 2]) for a vector
-- about: plane
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(1, 2)) FROM visits
