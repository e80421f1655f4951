-- code: too-large
-- underlined: EXP(price * 100)
-- says: CLAMP(e, low, high)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(EXP(price * 100)) FROM visits
