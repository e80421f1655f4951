-- code: unknown-column
-- underlined: lat
-- says: columns to use are price
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(lat) FROM (SELECT price FROM visits) AS q
