-- code: number
-- underlined: 1e999
-- says: range of a double
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1e999) AVG(price) FROM visits
