-- code: lambda
-- underlined: x -> x + 1
-- says: write the expression
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(LIST_SUM(LIST_TRANSFORM(prices, x -> x + 1))) FROM visits
