-- code: syntax
-- underlined: (
-- says: never closed
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price FROM visits
