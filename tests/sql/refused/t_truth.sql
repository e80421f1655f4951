-- code: condition-as-number
-- underlined: TRUE
-- says: CASE WHEN
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(TRUE) FROM visits
