-- space: line
-- lipschitz: a=375000, b=25
-- range: a=0..125000, b=1..7.141428429
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(POWER(price, 3)) AS a, AVG(POW(price + 1, 0.5)) AS b FROM visits
