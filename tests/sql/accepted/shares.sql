-- space: city
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, delta = 1e-9, model = 'shuffle', messages = 2)
  SHARES(category = 'cafe', category IN ('park', 'museum')) AS ever FROM visits ORDER BY ever DESC LIMIT 1
