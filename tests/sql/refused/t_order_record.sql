-- code: order-column
-- underlined: price
-- says: order by one of
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits ORDER BY price
