-- code: condition-as-number
-- underlined: category = 'cafe'
-- says: SHARE()
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(category = 'cafe') FROM visits
