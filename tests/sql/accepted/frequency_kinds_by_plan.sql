-- space: kinds
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, method = 'smoothed', model = 'central')
  plan, FREQUENCY(category) FROM visits GROUP BY plan
