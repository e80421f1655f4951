-- space: pair
-- lipschitz: user_mean_1=6, user_mean_2=8
-- range: user_mean_1=0..3, user_mean_2=0..4
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, method = 'direct') USER_MEAN(x, y * 2) FROM visits ORDER BY 1
