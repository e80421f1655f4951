-- code: subquery-mixes-users
-- underlined: AVG(price)
-- says: aggregate outside
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(m) FROM (SELECT AVG(price) AS m FROM visits) AS q
