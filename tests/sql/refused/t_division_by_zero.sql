-- code: division-by-zero
-- underlined: price / 0
-- says: other than 0
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price / 0) FROM visits
