-- code: pattern
-- underlined: category LIKE 'p!%' ESCAPE '!'
-- says: IN
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category LIKE 'p!%' ESCAPE '!'
