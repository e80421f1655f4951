-- space: line
-- lipschitz: avg=50
-- range: avg=0..50
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)
  AVG(price), COUNT(DISTINCT user_id) AS n FROM visits WHERE plan = 'pro' AND NOT is_staff
