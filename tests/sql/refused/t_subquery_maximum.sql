-- code: subquery-mixes-users
-- underlined: MAX(price)
-- says: one row a record
WITH top AS (SELECT MAX(price) AS price FROM visits) SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM top
