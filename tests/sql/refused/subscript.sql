-- code: subscript
-- underlined: prices[1]
-- says: column of the table
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(prices[1]) FROM visits
