-- code: group-expression
-- underlined: price / 10
-- says: public lists
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY price / 10
