-- code: exponent
-- underlined: price
-- says: EXP((price) * LN(2))
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(2 ** price) FROM visits
