-- space: line
-- lipschitz: a=50
-- range: a=0.01960784314..1
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG((price + 1) ** -1) AS a FROM visits
