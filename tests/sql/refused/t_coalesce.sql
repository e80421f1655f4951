-- code: null-function
-- underlined: COALESCE(price, 0)
-- says: leave it out
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(COALESCE(price, 0)) FROM visits
