-- space: city
-- lipschitz: avg=400
-- range: avg=0..100
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  category AS kind, AVG(price) FROM visits GROUP BY 1 ORDER BY kind
