-- code: unbounded-slope
-- underlined: 1 / price
-- says: GREATEST(price, 5)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(1 / price + 1) FROM visits
