-- space: city
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  FREQUENCY(GRID(price, 5)) AS f FROM visits
