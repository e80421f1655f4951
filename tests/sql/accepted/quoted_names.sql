-- space: line
-- lipschitz: the mean=50
-- range: the mean=0..50
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG("Price") AS "the mean" FROM "Visits"
