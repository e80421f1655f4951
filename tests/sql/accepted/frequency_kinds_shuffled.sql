-- space: kinds
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, delta = 1e-9, model = 'shuffle')
  FREQUENCY(category) AS f FROM visits ORDER BY f DESC LIMIT 2 OFFSET 1
