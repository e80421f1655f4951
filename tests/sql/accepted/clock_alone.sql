-- space: clock
-- lipschitz: h=12
-- range: h=0..12
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(DISTANCE(23.5)) AS h FROM visits
