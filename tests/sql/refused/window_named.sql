-- code: window
-- underlined: AVG(price) OVER w
-- says: several users
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM (SELECT price, AVG(price) OVER w AS m FROM visits) AS q
