-- space: shops
-- lipschitz: rent=91
-- range: rent=0..45.5
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(k.rent) AS rent FROM visits v JOIN kinds AS k ON v.category = k.category
