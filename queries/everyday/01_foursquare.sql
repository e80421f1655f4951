-- How many people went to a bar, by month?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_groups_per_user = 11)
       DATE_TRUNC('month', ts) AS month, COUNT(DISTINCT user_id) AS people
FROM foursquare
WHERE category = 'Bar' AND ts >= '2012-04-01' AND ts < '2013-03-01'
GROUP BY month
ORDER BY month;
