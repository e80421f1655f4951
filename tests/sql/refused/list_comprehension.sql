-- code: list
-- underlined: [x FOR x IN prices IF x > 1]
-- says: VECTOR
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(LIST_SUM([x FOR x IN prices IF x > 1])) FROM visits
