-- space: city
-- lipschitz: rent=182
-- range: rent=0..45.5
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, spread = 10)
  USER_MEAN(k.rent) AS rent FROM visits LEFT JOIN kinds AS k USING (category)
