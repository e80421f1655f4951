-- code: group-expression
-- underlined: FLOOR(price)
-- says: public lists
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY FLOOR(price)
