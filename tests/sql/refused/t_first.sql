-- code: one-record
-- underlined: FIRST(price)
-- says: AVG(price)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FIRST(price) FROM visits
