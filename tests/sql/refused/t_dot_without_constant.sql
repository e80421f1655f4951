-- code: vector-needed
-- underlined: price
-- says: DOT(VECTOR[1, 2])
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DOT(price)) FROM visits
