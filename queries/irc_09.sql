-- Spread of a similarity, and a smooth score.
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 60, delta = 1e-10)
       STDDEV(CLAMP(SIMILARITY('linux'), -20, 20))       AS spread,
       AVG(1 / (1 + EXP(-SIMILARITY('linux') / 10)))     AS score
FROM irc;
