-- code: grid-part
-- underlined: category
-- says: FREQUENCY(category)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(GRID(category, 1)) FROM visits
