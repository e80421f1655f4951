-- code: unnest
-- underlined: UNNEST([1, 2]) AS u(x)
-- says: several records
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(x) FROM UNNEST([1, 2]) AS u(x)
