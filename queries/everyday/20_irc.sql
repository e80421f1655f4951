-- At which hours is the channel busy, and how long are its messages then?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 50)
       HOUR(ts) AS hour, COUNT(*) AS messages, AVG(CLAMP(LENGTH(text), 0, 200)) AS letters
FROM irc
GROUP BY hour
ORDER BY hour;
