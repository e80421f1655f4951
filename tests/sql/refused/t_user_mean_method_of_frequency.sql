-- code: option-value
-- underlined: method = 'krr'
-- says: method of USER_MEAN must be one of auto, range, direct
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, method = 'krr') USER_MEAN(price) FROM visits
