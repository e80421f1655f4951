-- code: point-columns
-- underlined: lon
-- says: write DISTANCE(POINT(lat, lon), POINT(40.7, -73.98))
-- about: fq
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(lat, lon, 40.7, -74)) FROM visits
