-- code: unbounded-slope
-- underlined: LN(price)
-- says: GREATEST(price, 5)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(2 * LN(price)) FROM visits
