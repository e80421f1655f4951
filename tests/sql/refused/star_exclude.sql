-- code: star
-- underlined: * EXCLUDE (price)
-- says: one by one
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) * EXCLUDE (price) FROM visits
