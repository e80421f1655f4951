-- code: point-without-column
-- underlined: DISTANCE(40.7484, -73.9857)
-- says: write DISTANCE(POINT(40.7484, -73.9857)) for a place
-- about: fq
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(40.7484, -73.9857)) FROM visits
