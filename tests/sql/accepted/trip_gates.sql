-- space: trips
-- lipschitz: g=33, h=33
-- range: g=0..3, h=0..1
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(DISTANCE(gate, 1)) AS g, AVG(CASE WHEN gate > 1 THEN 1 ELSE 0 END) AS h FROM visits
