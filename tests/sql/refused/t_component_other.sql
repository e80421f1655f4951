-- code: extract
-- underlined: EXTRACT(HOUR FROM ts)
-- says: use "time(ts)", or have
-- about: fq
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(EXTRACT(HOUR FROM ts), 8)) FROM visits
