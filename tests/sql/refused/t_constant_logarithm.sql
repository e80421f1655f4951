-- code: constant-value
-- underlined: LN(0)
-- says: no finite value
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price + LN(0)) FROM visits
