-- How many people came back on another day, of a hundred?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1)
       100 * AVG(CASE WHEN days >= 2 THEN 1 ELSE 0 END) AS percent
FROM (SELECT user_id, COUNT(DISTINCT DATE(ts)) AS days FROM gowalla GROUP BY user_id) AS q;
