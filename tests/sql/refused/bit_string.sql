-- code: string-prefix
-- underlined: b'101'
-- says: plain '..' string
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category = b'101'
