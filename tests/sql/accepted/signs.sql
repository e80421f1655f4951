-- space: line
-- lipschitz: a=50
-- range: a=-50..0
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(- - -price) AS a FROM visits
