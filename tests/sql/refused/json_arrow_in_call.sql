-- code: lambda
-- underlined: payload -> 'price'
-- says: JSON
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(payload -> 'price') FROM visits
