-- How do check-ins grow from month to month?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 200)
       DATE_TRUNC(ts, MONTH) AS month, COUNT(*) AS check_ins
FROM gowalla
WHERE ts >= '2010-01-01' AND ts < '2010-10-01'
GROUP BY 1
ORDER BY 1;
