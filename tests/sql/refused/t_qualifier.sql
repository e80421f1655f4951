-- code: unknown-qualifier
-- underlined: w.price
-- says: name one of visits
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(w.price) FROM visits
