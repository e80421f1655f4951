-- code: frequency-continuum
-- underlined: FREQUENCY(*)
-- says: emdp.Grid
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(*) FROM visits
