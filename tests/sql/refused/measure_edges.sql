-- code: measure-option
-- underlined: noise = 'edges'
-- says: leave noise out
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, noise = 'edges') MEASURE(*) FROM visits
