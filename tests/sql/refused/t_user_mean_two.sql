-- code: alone
-- underlined: USER_MEAN(lat)
-- says: two statements
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) USER_MEAN(price), USER_MEAN(lat) FROM visits
