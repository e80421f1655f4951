-- code: point-needed
-- underlined: DISTANCE(price)
-- says: DISTANCE(price, 50)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(price)) FROM visits
