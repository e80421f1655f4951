-- code: unknown-column
-- underlined: pric
-- says: write price
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(pric) FROM visits
