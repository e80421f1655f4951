-- space: line
-- lipschitz: avg=50
-- range: avg=0..50
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  plan, city AS town, AVG(price) FROM visits GROUP BY plan, city ORDER BY avg_low
