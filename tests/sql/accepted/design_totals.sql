-- space: line
-- lipschitz: sum=50
-- range: sum=0..50
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, delta = 1e-9, max_records_per_user = 50) COUNT(*), SUM(price) FROM visits;
