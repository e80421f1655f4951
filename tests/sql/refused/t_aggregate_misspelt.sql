-- code: unknown-function
-- underlined: AVGE(price)
-- says: write AVG
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVGE(price) FROM visits
