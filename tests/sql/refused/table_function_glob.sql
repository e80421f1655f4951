-- code: table-function
-- underlined: glob('*')
-- says: declared table
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM glob('*')
