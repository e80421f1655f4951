-- code: hash
-- underlined: hash(price)
-- says: categorical
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(hash(price)) FROM visits
