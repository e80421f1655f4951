-- code: not-given-back
-- underlined: ISNULL
-- says: IS NULL
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE city ISNULL
