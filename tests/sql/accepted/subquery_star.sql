-- space: city
-- lipschitz: avg=400
-- range: avg=0..100
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(price) FROM (SELECT * FROM visits WHERE plan = 'pro')
