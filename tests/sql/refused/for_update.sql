-- code: lock
-- underlined: FOR UPDATE
-- says: leave it out
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits FOR UPDATE
