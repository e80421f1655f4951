-- code: distance-function
-- underlined: st_distance(lat, lon)
-- says: DISTANCE(POINT
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(st_distance(lat, lon)) FROM visits
