-- space: plane
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  FREQUENCY(GRID(VECTOR[x, y], 0.5)) FROM visits
