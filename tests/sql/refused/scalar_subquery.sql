-- code: scalar-subquery
-- underlined: (SELECT AVG(price) FROM visits)
-- says: statement of its own
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) - (SELECT AVG(price) FROM visits) FROM visits
