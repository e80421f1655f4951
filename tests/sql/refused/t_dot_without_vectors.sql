-- code: no-part
-- underlined: DOT(VECTOR[1, 2])
-- says: use what the space has
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DOT(VECTOR[1, 2])) FROM visits
