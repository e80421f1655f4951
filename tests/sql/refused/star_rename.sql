-- code: star
-- underlined: * RENAME (price AS cost)
-- says: one by one
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) * RENAME (price AS cost) FROM visits
