-- space: city
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  category, SHARE() AS share FROM visits GROUP BY category
