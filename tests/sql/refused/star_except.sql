-- code: star
-- underlined: * EXCEPT (price)
-- says: one by one
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) * EXCEPT (price) FROM visits
