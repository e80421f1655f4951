-- code: option-family
-- underlined: spread = 2.0
-- says: the option spread is for USER_MEAN alone
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, spread = 2.0) AVG(price) FROM visits
