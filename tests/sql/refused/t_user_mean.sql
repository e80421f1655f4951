-- code: user-mean
-- underlined: USER_MEAN(price)
-- says: write AVG(e)
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, max_records_per_user = 5) USER_MEAN(price) FROM visits
