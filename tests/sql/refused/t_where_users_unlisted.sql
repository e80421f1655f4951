-- code: unlisted-value
-- underlined: 'prro'
-- says: write 'pro'
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE plan = 'prro'
