-- code: weight
-- underlined: USER_MEAN(price)
-- says: write WEIGHT(AVG(e), 2)
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) WEIGHT(USER_MEAN(price), 2) FROM visits
