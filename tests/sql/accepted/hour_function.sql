-- space: city
-- lipschitz: h=48
-- range: h=0..12
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(DISTANCE(hour(v.ts), 0)) AS h FROM visits v
