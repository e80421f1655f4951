-- space: line
-- lipschitz: t=5
-- range: t=-1.1902899497..1.1902899497
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(ATAN((price - 25) / 10)) AS t FROM visits
