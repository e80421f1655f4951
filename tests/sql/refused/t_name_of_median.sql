-- code: duplicate-name
-- underlined: MEDIAN(price) AS Q
-- says: MEDIAN gives the level of each row as q
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) MEDIAN(price) AS Q FROM visits
