-- code: point-outside
-- underlined: - 1
-- says: such as 0
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(price, - 1)) FROM visits
