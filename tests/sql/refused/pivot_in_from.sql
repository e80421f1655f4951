-- code: pivot
-- underlined: PIVOT (AVG(price) FOR category IN ('a', 'b'))
-- says: GROUP BY
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits PIVOT (AVG(price) FOR category IN ('a', 'b'))
