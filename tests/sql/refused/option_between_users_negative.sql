-- code: option-value
-- underlined: between_users = -1
-- says: at least 0
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, spread = 1, between_users = -1) USER_MEAN(price) FROM visits
