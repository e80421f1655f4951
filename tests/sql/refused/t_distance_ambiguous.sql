-- code: several-parts
-- underlined: DISTANCE(3)
-- says: DISTANCE(price, 50) or DISTANCE(hour(ts), 12)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(3)) FROM visits
