-- code: pattern
-- underlined: category GLOB 'p*'
-- says: IN
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category GLOB 'p*'
