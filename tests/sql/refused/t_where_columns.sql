-- code: literal-needed
-- underlined: city
-- says: compare plan with a literal
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE plan = city
