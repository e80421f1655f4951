-- code: duplicate-name
-- underlined: AVG(lat) AS x
-- says: x is the name of `AVG(price) AS x`
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) AS x, AVG(lat) AS x FROM visits
