-- code: star
-- underlined: * EXCLUDE (hour)
-- says: one by one
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM (SELECT * EXCLUDE (hour) FROM visits) AS q
