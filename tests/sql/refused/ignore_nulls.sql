-- code: nulls
-- underlined: price IGNORE NULLS
-- says: on_invalid
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price IGNORE NULLS) FROM visits
