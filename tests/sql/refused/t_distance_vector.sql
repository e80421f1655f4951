-- code: no-part
-- underlined: DISTANCE(VECTOR[1, 2])
-- says: Geo (lat, lon)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(VECTOR[1, 2])) FROM visits
