-- code: join-condition
-- underlined: LEFT JOIN stations
-- says: USING (key)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits LEFT JOIN stations
