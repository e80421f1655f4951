-- code: group-by-all
-- underlined: GROUP BY ALL
-- says: name them
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) category, AVG(price) FROM visits GROUP BY ALL
