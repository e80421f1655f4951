-- code: null-function
-- underlined: price ?? 0
-- says: ?? handles NULL
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price ?? 0) FROM visits
