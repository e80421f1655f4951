-- code: mean
-- underlined: AVERAGE(price)
-- says: write AVG(price)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVERAGE(price) FROM visits
