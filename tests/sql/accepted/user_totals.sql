-- space: city
-- lipschitz: sum=400, avg=400
-- range: sum=0..100
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, delta = 1e-9, max_records_per_user = 50)
  category, COUNT(*) AS records, SUM(price), AVG(price) FROM visits WHERE RAMP(price, 0, 1) GROUP BY category ORDER BY records DESC
