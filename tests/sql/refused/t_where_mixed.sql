-- code: mixed-conditions
-- underlined: plan = 'pro' OR category = 'cafe'
-- says: two statements
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE plan = 'pro' OR category = 'cafe'
