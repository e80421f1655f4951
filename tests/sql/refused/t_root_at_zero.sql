-- code: unbounded-slope
-- underlined: SQRT(price)
-- says: GREATEST(price, 5)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(SQRT(price)) FROM visits
