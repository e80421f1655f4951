-- How many people have ten check-ins or more?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1)
       COUNT(DISTINCT user_id) AS people
FROM (SELECT user_id, COUNT(*) AS n FROM gowalla GROUP BY user_id HAVING COUNT(*) >= 10) AS q;
