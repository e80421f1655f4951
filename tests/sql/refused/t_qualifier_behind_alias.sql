-- code: unknown-qualifier
-- underlined: visits.price
-- says: name one of v
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(visits.price) FROM visits v
