-- code: literal-needed
-- underlined: pro
-- says: write 'pro'
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE plan = pro
