-- code: frequency-where
-- underlined: category = 'cafe'
-- says: SHARE()
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(category) FROM visits WHERE category = 'cafe'
