-- code: group-continuous
-- underlined: EXTRACT(TIME FROM ts)
-- says: write FREQUENCY(GRID("time(ts)", 1.0))
-- about: fq
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(lat) FROM visits GROUP BY EXTRACT(TIME FROM ts)
