-- code: implicit-cast
-- underlined: '30'
-- says: nothing is cast
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE age > '30'
