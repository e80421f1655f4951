-- code: sample
-- underlined: USING SAMPLE 10 PERCENT (bernoulli)
-- says: guarantee counts
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits USING SAMPLE 10 PERCENT (bernoulli)
