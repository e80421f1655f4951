-- space: plane
-- lipschitz: d=5
-- range: d=0..5
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(DISTANCE(VECTOR[0, 0])) AS d FROM visits
