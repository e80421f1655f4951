-- code: column-without-group
-- underlined: price
-- says: write AVG(price)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price), price FROM visits
