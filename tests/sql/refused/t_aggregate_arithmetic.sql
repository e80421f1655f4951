-- code: aggregate-arithmetic
-- underlined: AVG(price) / AVG(lat)
-- says: ask for AVG(price) by itself
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) / AVG(lat) FROM visits
