-- code: distinct
-- underlined: DISTINCT
-- says: which private values
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM (SELECT DISTINCT price FROM visits) AS q
