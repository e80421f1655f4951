-- code: sample
-- underlined: TABLESAMPLE 10%
-- says: guarantee counts
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits TABLESAMPLE 10%
