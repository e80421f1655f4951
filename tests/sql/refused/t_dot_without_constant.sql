-- code: vector-needed
-- underlined: price
-- says: use DISTANCE, since no part of the space is for DOT
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DOT(price)) FROM visits
