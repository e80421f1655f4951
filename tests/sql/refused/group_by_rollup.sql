-- code: grouping-sets
-- underlined: ROLLUP (category, city)
-- says: share of alpha
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY ROLLUP (category, city)
