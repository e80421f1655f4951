-- Among words near "linux", how close are they to "good"?
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 60)
       AVG(SIMILARITY('good')) AS good,
       SHARE()                 AS about_linux
FROM irc
WHERE RAMP(DISTANCE('linux'), 6, 4);
