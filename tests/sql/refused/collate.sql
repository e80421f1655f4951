-- code: collation
-- underlined: category COLLATE NOCASE
-- says: engine to engine
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category COLLATE NOCASE = 'park'
