-- code: mean
-- underlined: MEAN(price)
-- says: write AVG(price)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) MEAN(price) FROM visits
