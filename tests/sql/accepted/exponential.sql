-- space: line
-- lipschitz: x=5, y=50
-- range: x=0.006737946999..1, y=1.928749848e-22..1
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(EXP(-price / 10)) AS x, AVG(exp(-price)) AS y FROM visits
