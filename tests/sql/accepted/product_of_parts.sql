-- space: pair
-- lipschitz: p=12
-- range: p=0..6
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(x * y) AS p FROM visits  -- max(2 * 3, 3 * 2), doubled
