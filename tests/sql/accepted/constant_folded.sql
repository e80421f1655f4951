-- space: line
-- lipschitz: a=300
-- range: a=-1..299
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(2 * 3 * price - -(-1)) AS a FROM visits
