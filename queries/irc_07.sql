-- Quantiles of a similarity.
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 40) QUANTILE(SIMILARITY('linux'), 0.1, 0.5, 0.9) AS linux
FROM irc;
