-- space: city
-- lipschitz: user_mean=400
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, delta = 1e-9, model = 'shuffle', spread = 10, records_per_user = 30)
  USER_MEAN(price) FROM visits
