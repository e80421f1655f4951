-- code: duplicate-name
-- underlined: AVG(price) AS category
-- says: another alias
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) AS category FROM visits GROUP BY category
