-- space: line
-- lipschitz: a=50, b=50, c=0
-- range: a=0..10, b=5..50, c=60..60
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(LEAST(price, 10)) AS a, AVG(GREATEST(price, 5, 2)) AS b, AVG(GREATEST(price, 60)) AS c FROM visits
