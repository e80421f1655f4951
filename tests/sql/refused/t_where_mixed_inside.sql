-- code: mixed-conditions
-- underlined: plan = 'pro' AND category = 'cafe'
-- says: two statements
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE (plan = 'pro' AND category = 'cafe') OR price / 100
