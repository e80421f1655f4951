-- space: line
-- lipschitz: var_pop=50, stddev_pop=50
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  VAR_POP(price), STDDEV_POP(price) FROM visits
