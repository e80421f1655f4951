-- code: argument-count
-- underlined: USER_MEAN(price / 1, price / 2, price / 3, price / 4, price / 5, price / 6, price / 7, price / 8, price / 9, price / 10, price / 11, price / 12, price / 13, price / 14, price / 15, price / 16, price / 17, price / 18, price / 19, price / 20, price / 21, price / 22, price / 23, price / 24, price / 25)
-- says: in Python by session.user_mean
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) USER_MEAN(price / 1, price / 2, price / 3, price / 4, price / 5, price / 6, price / 7, price / 8, price / 9, price / 10, price / 11, price / 12, price / 13, price / 14, price / 15, price / 16, price / 17, price / 18, price / 19, price / 20, price / 21, price / 22, price / 23, price / 24, price / 25) FROM visits
