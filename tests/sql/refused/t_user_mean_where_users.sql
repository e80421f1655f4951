-- code: user-mean-where
-- underlined: WHERE plan = 'pro'
-- says: all public users
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) USER_MEAN(price) FROM visits WHERE plan = 'pro'
