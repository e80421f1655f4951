-- code: constant-value
-- underlined: EXP(1000)
-- says: no finite value
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price * EXP(1000)) FROM visits
