-- code: weight
-- underlined: price
-- says: WEIGHT(AVG(e), 2)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) WEIGHT(price, 2) FROM visits
