-- space: plane
-- lipschitz: d=25, e=7.071067812
-- range: d=0..25, e=-4..3
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(DOT(VECTOR[3, 4])) AS d, AVG(DOT(VECTOR[x, y], VECTOR[1, -1])) AS e FROM visits
