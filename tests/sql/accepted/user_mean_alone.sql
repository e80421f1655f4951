-- space: line
-- lipschitz: user_mean=50
-- range: user_mean=0..50
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) user_mean(price) FROM visits
