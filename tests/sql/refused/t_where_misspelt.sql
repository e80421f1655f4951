-- code: syntax
-- underlined: WERE
-- says: write WHERE
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WERE category = 'x'
