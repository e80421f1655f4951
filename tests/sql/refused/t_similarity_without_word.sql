-- code: label-needed
-- underlined: price
-- says: use DISTANCE, since no part of the space is for SIMILARITY
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(SIMILARITY(category, price)) FROM visits
