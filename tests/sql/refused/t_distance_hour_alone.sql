-- code: point-without-column
-- underlined: DISTANCE(8)
-- says: write DISTANCE("time(ts)", 8)
-- about: fq
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(RAMP(DISTANCE(8), 2, 1)) FROM visits
