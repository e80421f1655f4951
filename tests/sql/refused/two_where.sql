-- code: syntax
-- underlined: WHERE
-- says: does not fit
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category = 'a' WHERE city = 'b'
