-- code: argument-count
-- underlined: WEIGHT(AVG(price))
-- says: WEIGHT(AVG(e), 2)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) WEIGHT(AVG(price)) FROM visits
