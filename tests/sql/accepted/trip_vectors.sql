-- space: trips
-- lipschitz: d=22, e=33, f=110
-- range: d=0..3, f=-10..10
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(DISTANCE(VECTOR[u, v], VECTOR[1, 0])) AS d, AVG(DISTANCE(VECTOR[a, b, c], VECTOR[0, 0, 0])) AS e, AVG(DOT(VECTOR[u, v], VECTOR[3, 4])) AS f FROM visits
