-- code: grouping-sets
-- underlined: GROUPING SETS ((category), (city), ())
-- says: one statement for each
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY GROUPING SETS ((category), (city), ())
