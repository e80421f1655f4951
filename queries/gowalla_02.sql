-- The number of users is public, and costs nothing.
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1) COUNT(DISTINCT user_id) AS people
FROM gowalla;
