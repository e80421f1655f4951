-- code: user-mean-option
-- underlined: method = 'range'
-- says: add spread = 2.0
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, method = 'range') USER_MEAN(price) FROM visits
