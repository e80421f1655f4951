-- code: cap-unused
-- underlined: WITH USER_PRIVACY OPTIONS (epsilon = 1.0, max_records_per_user = 5)
-- says: weighs every user equally
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, max_records_per_user = 5) USER_MEAN(price) FROM visits
