-- code: order-column
-- underlined: 'mean'
-- says: write mean
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) AS mean FROM visits ORDER BY 'mean'
