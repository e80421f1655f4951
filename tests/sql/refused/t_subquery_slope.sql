-- code: unbounded-slope
-- underlined: 1 / price
-- says: GREATEST(price, 5)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(q) FROM (SELECT 1 / price AS q FROM visits) AS q
