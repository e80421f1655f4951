-- code: unknown-function
-- underlined: SQR(price)
-- says: write SQRT
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(SQR(price)) FROM visits
