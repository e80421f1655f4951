-- code: extract
-- underlined: EXTRACT(YEAR FROM ts)
-- says: Interval("year(ts)", 2020, 2030)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(EXTRACT(YEAR FROM ts)) FROM visits
