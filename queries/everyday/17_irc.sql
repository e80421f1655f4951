-- How many people ever say thanks?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1)
       COUNT(DISTINCT user_id) AS people
FROM irc
WHERE LOWER(text) LIKE '%thank%';
