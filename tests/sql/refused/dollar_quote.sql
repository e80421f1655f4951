-- code: dollar-quote
-- underlined: $$park$$
-- says: '..'
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category = $$park$$
