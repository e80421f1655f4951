-- code: constant-user-mean
-- underlined: 1 + 2
-- says: is public
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) USER_MEAN(price, 1 + 2) FROM visits
