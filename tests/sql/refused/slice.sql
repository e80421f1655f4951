-- code: subscript
-- underlined: prices[1:3]
-- says: column of the table
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(LIST_SUM(prices[1:3])) FROM visits
