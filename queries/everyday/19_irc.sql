-- Which words do people begin with?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, delta = 1e-9, max_groups_per_user = 3)
       LOWER(SPLIT_PART(text, ' ', 1)) AS word, COUNT(DISTINCT user_id) AS people
FROM irc
GROUP BY word
ORDER BY people DESC
LIMIT 10;
