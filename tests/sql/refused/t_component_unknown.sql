-- code: unknown-column
-- underlined: noon
-- says: the columns to use are lat, lon, category, "time(ts)"
-- about: fq
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(noon) FROM visits
