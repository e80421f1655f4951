-- How many people checked in on each day of a week?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_groups_per_user = 7)
       DATE(ts) AS day, COUNT(DISTINCT user_id) AS people
FROM gowalla
WHERE ts >= '2010-08-02' AND ts < '2010-08-09'
GROUP BY day
ORDER BY day;
