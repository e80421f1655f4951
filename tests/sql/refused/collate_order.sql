-- code: collation
-- underlined: category COLLATE DE
-- says: engine to engine
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY category ORDER BY category COLLATE DE
