-- space: line
-- lipschitz: a=50, b=50
-- range: a=0..50, b=0..50
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(v.price) AS a, AVG("V".PRICE) AS b FROM visits AS v
