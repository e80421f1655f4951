-- code: distinct-aggregate
-- underlined: DISTINCT price
-- says: COUNT(DISTINCT user)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTINCT price) FROM visits
