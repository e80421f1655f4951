-- code: table-function
-- underlined: generate_series(1, 1000000000) AS g(i)
-- says: declared table
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(i) FROM generate_series(1, 1000000000) AS g(i)
