-- code: option-value
-- underlined: failure = 1
-- says: between 0 and 1
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, spread = 1, failure = 1) USER_MEAN(price) FROM visits
