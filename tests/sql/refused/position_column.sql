-- code: position
-- underlined: #1
-- says: name the column
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(#1) FROM visits
