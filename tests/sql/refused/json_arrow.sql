-- code: json
-- underlined: payload -> 'city'
-- says: JSON
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE payload -> 'city' = 'a'
