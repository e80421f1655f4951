-- code: extract-operand
-- underlined: 1
-- says: FROM column
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(EXTRACT(HOUR FROM 1)) FROM visits
