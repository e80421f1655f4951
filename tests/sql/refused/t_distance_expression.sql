-- code: constant-needed
-- underlined: price + 1
-- says: a point of DISTANCE
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(price + 1)) FROM visits
