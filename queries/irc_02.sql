-- Two directions at once: each has a constant of its own, and they share one draw.
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 20)
       AVG(SIMILARITY('linux'))  AS linux,
       AVG(SIMILARITY('please')) AS please
FROM irc;
