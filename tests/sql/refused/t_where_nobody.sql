-- code: no-users
-- underlined: plan = 'pro'
-- says: at least one user
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE plan = 'pro' AND city = 'hull'
