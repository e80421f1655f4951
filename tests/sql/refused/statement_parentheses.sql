-- code: parentheses
-- underlined: (
-- says: remove them
(SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits)
