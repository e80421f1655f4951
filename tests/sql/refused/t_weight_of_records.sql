-- code: constant-needed
-- underlined: price
-- says: a weight must be a constant
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) WEIGHT(AVG(price), price) FROM visits
