-- code: unlisted-value
-- underlined: 'coffee'
-- says: none of the 4 values of category
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(CASE category WHEN 'coffee' THEN 1 ELSE 0 END) FROM visits
