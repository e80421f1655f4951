-- space: city
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  FREQUENCY(GRID(POINT(lat, lon), 2)) FROM visits
