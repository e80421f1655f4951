-- code: table-function
-- underlined: read_csv('/etc/passwd')
-- says: declared table
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM read_csv('/etc/passwd')
