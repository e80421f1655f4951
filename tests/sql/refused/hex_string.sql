-- code: string-prefix
-- underlined: X'70'
-- says: plain '..' string
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category = X'70'
