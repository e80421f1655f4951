-- code: several-parts
-- underlined: GRID(1)
-- says: GRID(POINT(lat, lon), 1.0)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(GRID(1)) FROM visits
