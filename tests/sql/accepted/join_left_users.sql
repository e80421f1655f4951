-- space: line
-- lipschitz: avg=50
-- range: avg=0..50
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  level, AVG(price) FROM visits LEFT JOIN partial AS p ON p.user_id = visits.user_id WHERE p.level IS NULL OR p.level = 'gold' GROUP BY level
