-- code: subquery-mixes-users
-- underlined: ORDER BY price
-- says: one row a record
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM (SELECT price FROM visits ORDER BY price) AS q
