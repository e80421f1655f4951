-- code: alone
-- underlined: AVG(lat)
-- says: two statements
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) USER_MEAN(price), AVG(lat) FROM visits
