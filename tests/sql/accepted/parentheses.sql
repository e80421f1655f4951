-- space: line
-- lipschitz: a=100
-- range: a=2..102
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  (AVG(((2) * ((price) + (1))))) AS a FROM visits
