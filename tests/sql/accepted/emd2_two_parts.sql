-- space: pair
-- lipschitz: total=6
-- range: total=0..5
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(x + y) AS total
FROM visits
