-- space: line
-- lipschitz: avg=50, stddev=50
-- range: avg=0..50
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, delta = 1e-9)
  AVG(price), STDDEV(price) FROM visits
