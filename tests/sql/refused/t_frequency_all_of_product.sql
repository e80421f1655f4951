-- code: frequency-continuum
-- underlined: FREQUENCY(*)
-- says: FREQUENCY(GRID(
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(*) FROM visits
