-- code: point-far
-- underlined: POINT(48.86, 2.35)
-- says: add far_point = TRUE to OPTIONS if it is meant
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(POINT(lat, lon), POINT(40.7, -74.0), POINT(48.86, 2.35))) FROM visits
