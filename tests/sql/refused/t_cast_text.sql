-- code: text-as-number
-- underlined: '3'
-- says: without quotes
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(CAST('3' AS DOUBLE)) FROM visits
