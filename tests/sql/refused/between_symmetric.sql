-- code: between
-- underlined: price BETWEEN SYMMETRIC 2 AND 1
-- says: lower bound first
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE price BETWEEN SYMMETRIC 2 AND 1
