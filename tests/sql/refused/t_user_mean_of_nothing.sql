-- code: argument-count
-- underlined: USER_MEAN()
-- says: write USER_MEAN(e)
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) USER_MEAN() FROM visits
