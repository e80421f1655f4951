-- code: pattern
-- underlined: category SIMILAR TO 'p.*'
-- says: IN
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category SIMILAR TO 'p.*'
