-- code: null-condition
-- underlined: price IS NULL
-- says: never NULL
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE price IS NULL
