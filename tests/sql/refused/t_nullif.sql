-- code: null-function
-- underlined: NULLIF(price, 0)
-- says: leave it out
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(NULLIF(price, 0)) FROM visits
