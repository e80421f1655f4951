-- code: cap-unused
-- underlined: WITH USER_PRIVACY OPTIONS (epsilon = 1.0, max_records_per_user = 5)
-- says: leave max_records_per_user out
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, max_records_per_user = 5) FREQUENCY(category) FROM visits
