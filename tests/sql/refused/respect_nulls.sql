-- code: nulls
-- underlined: price RESPECT NULLS
-- says: on_invalid
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price RESPECT NULLS) FROM visits
