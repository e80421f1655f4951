-- code: division-by-zero
-- underlined: price / (2 - 2)
-- says: other than 0
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price / (2 - 2)) FROM visits
