-- code: frequency-column
-- underlined: lat
-- says: write FREQUENCY(*)
-- about: cells
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(lat) FROM visits
