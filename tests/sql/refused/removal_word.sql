-- code: option-value
-- underlined: neighbours = 'add'
-- says: neighbours must be one of replace, remove
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, neighbours = 'add') AVG(price) FROM visits
