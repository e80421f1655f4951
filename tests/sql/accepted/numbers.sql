-- space: line
-- lipschitz: a=50
-- range: a=1001.5..1051.5
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(price + 1e3 + .5 + 1.) AS a FROM visits
