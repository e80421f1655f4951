-- code: argument-count
-- underlined: FREQUENCY(category, price)
-- says: FREQUENCY(column)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(category, price) FROM visits
