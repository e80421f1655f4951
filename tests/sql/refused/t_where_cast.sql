-- code: implicit-cast
-- underlined: 3
-- says: holds texts
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category = 3
