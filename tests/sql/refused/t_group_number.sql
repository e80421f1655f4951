-- code: group-continuous
-- underlined: price
-- says: FREQUENCY(GRID(price, 1.0))
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY price
