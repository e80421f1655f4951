-- code: argument-count
-- underlined: ABS(price, 1)
-- says: takes 1 argument, not 2
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(ABS(price, 1)) FROM visits
