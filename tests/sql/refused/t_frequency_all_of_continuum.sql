-- code: frequency-continuum
-- underlined: FREQUENCY(*)
-- says: no Lipschitz constant
-- about: plain
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(*) FROM visits
