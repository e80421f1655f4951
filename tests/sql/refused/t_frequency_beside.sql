-- code: alone
-- underlined: AVG(price)
-- says: two statements
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(category), AVG(price) FROM visits
