-- code: argument-count
-- underlined: AVG(price, lat)
-- says: AVG(e)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price, lat) FROM visits
