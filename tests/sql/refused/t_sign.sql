-- code: jump-function
-- underlined: SIGN(price - 3)
-- says: jumps
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(SIGN(price - 3)) FROM visits
