-- code: quantifier
-- underlined: ANY (SELECT category FROM stations)
-- says: IN (..)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category = ANY (SELECT category FROM stations)
