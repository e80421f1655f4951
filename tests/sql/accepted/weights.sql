-- space: line
-- lipschitz: a=50, avg=50
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  WEIGHT(AVG(price), 2) AS a, WEIGHT(AVG(price), 0.5) FROM visits
