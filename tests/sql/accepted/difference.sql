-- space: pair
-- lipschitz: d=6
-- range: d=-2..3
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(x - y) AS d FROM visits
