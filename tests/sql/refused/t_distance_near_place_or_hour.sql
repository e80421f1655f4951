-- code: point-without-column
-- underlined: DISTANCE(40, 12)
-- says: write DISTANCE(POINT(40.7, -73.98)) for a place or DISTANCE("time(ts)", 12)
-- about: fq
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(40, 12)) FROM visits
