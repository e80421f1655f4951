-- code: table-parentheses
-- underlined: (visits)
-- says: write FROM visits
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM (visits)
