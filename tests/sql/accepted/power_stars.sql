-- space: line
-- lipschitz: a=5000
-- range: a=0..2500
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(price ** 2) AS a FROM visits
