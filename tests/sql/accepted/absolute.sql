-- space: line
-- lipschitz: a=50
-- range: a=0..30
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(ABS(price - 20)) AS a FROM visits
