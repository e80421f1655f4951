-- code: column-outside-space
-- underlined: ts
-- says: use a column of it (lat, lon, category, "time(ts)")
-- about: fq
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(ts) FROM visits
