-- code: window
-- underlined: LAG(price) OVER (PARTITION BY user_id ORDER BY hour)
-- says: several users
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price - LAG(price) OVER (PARTITION BY user_id ORDER BY hour)) FROM visits
