-- code: two-columns
-- underlined: CORR(price, lat)
-- says: AVG(x * y)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) CORR(price, lat) FROM visits
