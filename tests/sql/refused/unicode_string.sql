-- code: string-prefix
-- underlined: &'p\0061rk'
-- says: plain '..' string
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category = U&'p\0061rk'
