-- code: row
-- underlined: (category, city)
-- says: with AND
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE (category, city) IN (('a', 'b'))
