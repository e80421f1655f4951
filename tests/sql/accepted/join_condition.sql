-- space: city
-- lipschitz: avg=400
-- range: avg=0..100
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(price) FROM visits JOIN kinds k USING (category) WHERE k.seats > 10 AND (k.sector = 'food' OR k.is_indoor)
