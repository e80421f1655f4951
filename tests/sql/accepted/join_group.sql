-- space: city
-- lipschitz: avg=400
-- range: avg=0..100
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  k.sector, AVG(price) FROM visits JOIN kinds k USING (category) GROUP BY k.sector
