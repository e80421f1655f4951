-- space: line
-- lipschitz: median=50
-- range: median=0..50
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  MEDIAN(price) FROM visits
