-- code: order-by-all
-- underlined: ALL
-- says: name them
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) AS p FROM visits GROUP BY category ORDER BY ALL
