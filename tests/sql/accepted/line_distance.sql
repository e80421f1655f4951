-- space: pair
-- lipschitz: d=6, e=4
-- range: d=0..2, e=0..2
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(DISTANCE(x, 1)) AS d, AVG(DISTANCE(y, 2)) AS e FROM visits
