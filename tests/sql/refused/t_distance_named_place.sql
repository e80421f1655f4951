-- code: point-kind
-- underlined: DISTANCE(POINT(lat, lon), 40.7, -74)
-- says: write DISTANCE(POINT(40.7, -74)) for a place
-- about: fq
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(POINT(lat, lon), 40.7, -74)) FROM visits
