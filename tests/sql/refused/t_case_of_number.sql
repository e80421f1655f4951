-- code: case-condition
-- underlined: price
-- says: one categorical column
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(CASE price WHEN 3 THEN 1 ELSE 0 END) FROM visits
