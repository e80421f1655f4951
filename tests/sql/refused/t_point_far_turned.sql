-- code: point-far
-- underlined: POINT(-73.9857, 40.7484)
-- says: write POINT(40.7484, -73.9857), since the latitude comes first, or correct the box, if it does not there
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(POINT(-73.9857, 40.7484))) FROM visits
