-- code: subscript
-- underlined: prices['a']
-- says: column of the table
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(prices['a']) FROM visits
