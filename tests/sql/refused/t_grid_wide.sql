-- code: grid-pitch
-- underlined: 500
-- says: at most 100
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(GRID(price, 500)) FROM visits
