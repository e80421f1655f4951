-- code: alias
-- underlined: price AS p
-- says: leave AS out
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price AS p) FROM visits
