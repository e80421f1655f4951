-- space: city
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  FREQUENCY(category) AS f FROM visits ORDER BY f DESC LIMIT 2
