-- code: point-columns
-- underlined: POINT(lon, lat)
-- says: write POINT(lat, lon)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(POINT(lon, lat), POINT(40.7, -74.0))) FROM visits
