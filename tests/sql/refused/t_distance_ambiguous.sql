-- code: point-without-column
-- underlined: DISTANCE(3)
-- says: write DISTANCE(price, 3) or DISTANCE("hour(ts)", 3)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(3)) FROM visits
