-- space: city
-- lipschitz: p=400
-- range: p=0..100
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, delta = 1e-9, model = 'local', spread = 2.0, between_users = 0.5, records_per_user = 20, failure = 0.01, method = 'auto')
  USER_MEAN(price) AS p FROM visits
