-- code: option-value
-- underlined: spread = 0
-- says: above 0
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, spread = 0) USER_MEAN(price) FROM visits
