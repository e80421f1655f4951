-- code: one-record
-- underlined: FIRST(price)
-- says: AVG(e)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FIRST(price) FROM visits
