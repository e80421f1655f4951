-- code: user-mean-option
-- underlined: failure = 0.1
-- says: does nothing without spread
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, failure = 0.1) USER_MEAN(price) FROM visits
