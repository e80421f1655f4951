-- code: part-column
-- underlined: ts
-- says: as in DISTANCE("time(ts)", 12)
-- about: fq
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(ts, 8)) FROM visits
