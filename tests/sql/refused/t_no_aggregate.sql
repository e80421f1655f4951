-- code: no-aggregate
-- underlined: price * 2
-- says: AVG(price * 2)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) price * 2 FROM visits
