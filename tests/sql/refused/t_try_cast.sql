-- code: cast
-- underlined: TRY_CAST(price AS DOUBLE)
-- says: NULL
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(TRY_CAST(price AS DOUBLE)) FROM visits
