-- code: cap-missing
-- underlined: SUM(price)
-- says: max_records_per_user = 50
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) SUM(price) FROM visits
