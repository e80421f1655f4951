-- How do check-ins grow from month to month?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1)
       DATE_TRUNC(ts, MONTH) AS month, COUNT(*) AS check_ins
FROM gowalla
WHERE ts BETWEEN '2010-01-01' AND '2010-09-30'
GROUP BY 1
ORDER BY 1;
