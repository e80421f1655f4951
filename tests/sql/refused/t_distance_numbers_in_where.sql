-- code: point-without-column
-- underlined: DISTANCE(40.7, -74)
-- says: write DISTANCE(POINT(40.7, -74)) for a place
-- about: fq
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) SHARE() FROM visits WHERE RAMP(DISTANCE(40.7, -74), 2, 1)
