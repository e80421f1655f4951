-- code: point-without-column
-- underlined: DISTANCE(8, 20)
-- says: write DISTANCE("time(ts)", 8, 20)
-- about: fq
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(8, 20)) FROM visits
