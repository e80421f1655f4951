-- code: point-without-column
-- underlined: DISTANCE(40.7, -74)
-- says: DISTANCE(POINT(start_lat, start_lon), POINT(40.7, -74)) for a place or DISTANCE(POINT(end_lat, end_lon), POINT(40.7, -74)) for a place or DISTANCE(VECTOR[u, v], VECTOR[40.7, -74]) for a vector
-- about: trips
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(40.7, -74)) FROM visits
