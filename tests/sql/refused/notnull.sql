-- code: not-given-back
-- underlined: NOTNULL
-- says: IS NOT NULL
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE city NOTNULL
