-- space: line
-- lipschitz: avg=50, avg_2=50, variance=50, stddev=50
-- range: avg=0..50
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(price), AVG(price / 1), VARIANCE(price), STDDEV(price) FROM visits
