-- code: misplaced
-- underlined: VECTOR[1, 2]
-- says: write it inside a function
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(VECTOR[1, 2]) FROM visits
