-- code: null-safe
-- underlined: plan IS DISTINCT FROM 'pro'
-- says: IS DISTINCT FROM
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE plan IS DISTINCT FROM 'pro'
