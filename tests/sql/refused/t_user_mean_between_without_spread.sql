-- code: user-mean-option
-- underlined: between_users = 0.5
-- says: does nothing without spread
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, between_users = 0.5) USER_MEAN(price) FROM visits
