-- space: city
-- lipschitz: avg=400
-- range: avg=0..100
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  plan, AVG(price), category FROM visits GROUP BY category, plan
