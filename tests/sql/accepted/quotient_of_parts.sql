-- space: pair
-- lipschitz: q=12
-- range: q=0..3
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(x / (1 + y)) AS q FROM visits  -- max(3 / 1, 3 * 2 / 1), doubled
