-- code: sum-variant
-- underlined: MEAN(price)
-- says: AVG(e)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) MEAN(price) FROM visits
