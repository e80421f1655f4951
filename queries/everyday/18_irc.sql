-- How many messages are questions, of a hundred?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 50)
       AVG(CASE WHEN RTRIM(text) LIKE '%?' THEN 100 ELSE 0 END) AS percent
FROM irc
WHERE NOT is_bot;
