-- code: is-truth
-- underlined: is_staff IS TRUE
-- says: = TRUE
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE is_staff IS TRUE
