-- code: unknown-column
-- underlined: noet
-- says: the columns to use are lat, lon
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(noet) FROM visits
