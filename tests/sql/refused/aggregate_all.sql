-- code: not-given-back
-- underlined: ALL
-- says: default
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(ALL price) FROM visits
