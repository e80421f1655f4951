-- code: text-as-number
-- underlined: 'price'
-- says: write price, for a column stands in double quotes
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG('price') FROM visits
