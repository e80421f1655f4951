-- code: subquery-name
-- underlined: price * 2
-- says: AS name
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(p) FROM (SELECT price * 2 FROM visits) AS q
