-- code: subquery-mixes-users
-- underlined: LIMIT 5
-- says: one row a record
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM (SELECT price FROM visits LIMIT 5) AS q
