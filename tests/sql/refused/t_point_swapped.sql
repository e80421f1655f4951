-- code: point-value
-- underlined: POINT(-174.0, 40.7)
-- says: swap the two
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(POINT(lat, lon), POINT(-174.0, 40.7))) FROM visits
