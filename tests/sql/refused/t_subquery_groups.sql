-- code: subquery-mixes-users
-- underlined: GROUP BY category
-- says: one row a record
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM (SELECT price FROM visits GROUP BY category) AS q
