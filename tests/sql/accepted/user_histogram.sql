-- space: shops
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, delta = 1e-9)
  FREQUENCY(category) FROM visits
