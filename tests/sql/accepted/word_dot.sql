-- space: words
-- lipschitz: d=8.062257748
-- range: d=2..5
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(DOT(VECTOR[1, 2])) AS d FROM visits
