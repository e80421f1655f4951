-- code: duplicate-name
-- underlined: lat AS price
-- says: alias
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM (SELECT price, lat AS price FROM visits) AS q
