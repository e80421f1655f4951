-- code: option-value
-- underlined: records_per_user = 1.5
-- says: whole number
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, spread = 1, records_per_user = 1.5) USER_MEAN(price) FROM visits
