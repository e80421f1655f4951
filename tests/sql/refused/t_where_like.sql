-- code: like
-- underlined: plan LIKE 'p%'
-- says: list the values
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE plan LIKE 'p%'
