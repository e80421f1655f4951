-- code: argument-count
-- underlined: LEAST()
-- says: 1 argument or more
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(LEAST()) FROM visits
