-- code: random
-- underlined: random()
-- says: mechanism alone
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price + random()) FROM visits
