-- code: group-component
-- underlined: h
-- says: the item space lists no values of minute(ts)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) EXTRACT(MINUTE FROM ts) AS h, AVG(price) FROM visits GROUP BY h
