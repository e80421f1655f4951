-- space: city
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  plan, FREQUENCY(category) FROM visits WHERE city = 'york' GROUP BY plan
