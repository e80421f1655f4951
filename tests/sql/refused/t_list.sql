-- code: all-records
-- underlined: LIST(price)
-- says: FREQUENCY
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) LIST(price) FROM visits
