-- code: comparison
-- underlined: DISTANCE(POINT(40.7, -74.0)) < 2
-- says: RAMP(DISTANCE(POINT(40.7, -74.0)), 4, 2)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE DISTANCE(POINT(40.7, -74.0)) < 2
