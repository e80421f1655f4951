-- How many messages are questions, of a hundred?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 50)
       100 * COUNT_IF(RTRIM(text) LIKE '%?') / COUNT(*) AS percent
FROM irc
WHERE NOT is_bot;
