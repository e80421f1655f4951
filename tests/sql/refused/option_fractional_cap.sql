-- code: option-value
-- underlined: max_records_per_user = 2.5
-- says: whole number
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 2.5) COUNT(*) FROM visits
