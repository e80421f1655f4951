-- Which kinds of places do most people go to?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, delta = 1e-9, max_groups_per_user = 10)
       category, COUNT(DISTINCT user_id) AS people
FROM foursquare
WHERE category IS NOT NULL
GROUP BY category
ORDER BY people DESC
LIMIT 10;
