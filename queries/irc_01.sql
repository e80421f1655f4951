-- How close to "linux" are people's words? Every word of a message is a record.
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 20) AVG(SIMILARITY('linux')) AS linux
FROM irc;
