-- space: line
-- lipschitz: a=0.5
-- range: a=0..0.5
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(RAMP(price, 0, 100)) AS a FROM visits
