-- Which ten places do most people go to?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, delta = 1e-9, max_groups_per_user = 5)
       place_name, COUNT(DISTINCT user_id) AS people
FROM gowalla
WHERE place_name IS NOT NULL
GROUP BY place_name
ORDER BY people DESC
LIMIT 10;
