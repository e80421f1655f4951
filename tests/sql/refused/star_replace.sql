-- code: star
-- underlined: * REPLACE (price + 1 AS price)
-- says: one by one
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) * REPLACE (price + 1 AS price) FROM visits
