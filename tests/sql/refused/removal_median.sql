-- code: removal
-- underlined: neighbours = 'remove'
-- says: divides by the number of users
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, neighbours = 'remove') MEDIAN(price) FROM visits
