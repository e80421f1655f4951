-- code: frequency-continuum
-- underlined: FREQUENCY(*)
-- says: FREQUENCY(GRID(hour, 1.0))
-- about: clock
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(*) FROM visits
