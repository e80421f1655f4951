-- code: list
-- underlined: [0.1, 0.2]
-- says: VECTOR
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DOT([0.1, 0.2])) FROM visits
