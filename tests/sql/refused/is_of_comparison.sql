-- code: ambiguous
-- underlined: price
-- says: parentheses
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE price = 1 IS NULL
