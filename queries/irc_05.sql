-- A share that slopes: 1 for words within 4 of "linux", 0 beyond 6.
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 20)
       AVG(RAMP(DISTANCE('linux'), 6, 4)) AS about_linux
FROM irc;
