-- code: syntax
-- underlined: WHERE
-- says: complete
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE
