-- code: strings
-- underlined: 'pa' 'rk'
-- says: one string
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category = 'pa' 'rk'
