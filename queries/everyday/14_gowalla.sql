-- How many days lie between a person's first check-in and the last?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1)
       AVG(CLAMP(TIMESTAMP_DIFF(last, first, DAY), 0, 700)) AS days
FROM (SELECT user_id, MIN(ts) AS first, MAX(ts) AS last FROM gowalla GROUP BY user_id) AS q;
