-- code: argument-count
-- underlined: MEDIAN(price, 0.5)
-- says: MEDIAN(e)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) MEDIAN(price, 0.5) FROM visits
