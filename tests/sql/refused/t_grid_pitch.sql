-- code: grid-pitch
-- underlined: -1
-- says: above 0 and at most 100
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(GRID(price, -1)) FROM visits
