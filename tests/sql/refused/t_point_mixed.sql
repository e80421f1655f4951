-- code: point-columns
-- underlined: POINT(lat, -74.0)
-- says: write POINT(lat, lon)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(POINT(lat, -74.0), POINT(40.7, -74.0))) FROM visits
