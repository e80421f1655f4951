-- space: shops
-- lipschitz: rent=91
-- range: rent=0..45.5
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(rent) AS rent FROM visits INNER JOIN kinds ON kinds.category = visits.category
