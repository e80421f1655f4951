-- code: unknown-option
-- underlined: alhpa
-- says: did you mean alpha
SELECT WITH EMD_PRIVACY OPTIONS (alhpa = 1) AVG(price) FROM visits
