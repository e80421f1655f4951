-- code: quantifier
-- underlined: ALL (SELECT price FROM stations)
-- says: number
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE price > ALL (SELECT price FROM stations)
