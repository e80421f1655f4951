-- code: order-column
-- underlined: price
-- says: order by one of m_1
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) USER_MEAN(price, lat) AS m FROM visits ORDER BY price
