-- code: condition-range
-- underlined: price
-- says: range [0, 100]
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE price
