-- code: unfinished
-- underlined: 'park
-- says: close it with '
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category = 'park
