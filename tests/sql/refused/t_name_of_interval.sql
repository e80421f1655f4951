-- code: duplicate-name
-- underlined: AVG(lat) AS x_low
-- says: x_low
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) AS x, AVG(lat) AS x_low FROM visits
