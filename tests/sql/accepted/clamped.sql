-- space: line
-- lipschitz: a=50, b=0
-- range: a=10..20, b=60..60
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(CLAMP(price, 10, 20)) AS a, AVG(CLAMP(price, 60, 70)) AS b FROM visits
