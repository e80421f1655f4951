-- code: aggregate-arithmetic
-- underlined: USER_MEAN(price) * 2
-- says: ask for USER_MEAN(price) by itself
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) USER_MEAN(price) * 2 FROM visits
