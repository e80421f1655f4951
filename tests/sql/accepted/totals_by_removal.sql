-- space: line
-- lipschitz: sum=50, avg=50
-- range: sum=0..50, avg=0..50
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, max_records_per_user = 50, neighbours = 'remove') COUNT(*), SUM(price), AVG(price) FROM visits;
