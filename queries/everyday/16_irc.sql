-- How long is the middle message?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 50)
       MEDIAN(CLAMP(LENGTH(text), 0, 400)) AS letters
FROM irc;
