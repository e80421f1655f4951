-- code: vector-length
-- underlined: VECTOR[1, 2]
-- says: lat has no vectors
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DOT(POINT(lat, lon), VECTOR[1, 2])) FROM visits
