-- code: jump-function
-- underlined: FLOOR(price)
-- says: jumps
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, spread = 2) USER_MEAN(price, FLOOR(price)) FROM visits
