-- code: option-value
-- underlined: method = 'direct'
-- says: method of FREQUENCY must be one of
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, method = 'direct') FREQUENCY(category) FROM visits
