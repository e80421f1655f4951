-- space: line
-- lipschitz: avg=50
-- range: avg=0..50
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(price) FROM visits WHERE joined >= DATE '2025-03-01' AND score BETWEEN -1 AND 3 AND plan IS NOT NULL
