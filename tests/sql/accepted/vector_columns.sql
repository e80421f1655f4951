-- space: plane
-- lipschitz: d=5, x=5
-- range: d=0..3.605551275, x=0..3
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(DISTANCE(VECTOR[x, y], VECTOR[1, 1])) AS d, AVG(x) AS x FROM visits
