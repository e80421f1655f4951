-- code: group-twice
-- underlined: k.sector
-- says: group by category or k.sector
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits JOIN kinds k USING (category) GROUP BY category, k.sector
