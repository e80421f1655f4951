-- code: group-nothing
-- underlined: GROUP BY
-- says: name the columns
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY LIMIT 1
