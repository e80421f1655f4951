-- code: text-as-number
-- underlined: '10'
-- says: without quotes
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price + '10') FROM visits
