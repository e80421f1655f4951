-- code: grouping-sets
-- underlined: CUBE (category, city)
-- says: share of the price
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY CUBE (category, city)
