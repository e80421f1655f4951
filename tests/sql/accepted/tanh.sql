-- space: line
-- lipschitz: t=5
-- range: t=-0.9866142982..0.9866142982
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(TANH((price - 25) / 10)) AS t FROM visits
