-- code: table-function
-- underlined: query('SELECT 1 AS price')
-- says: declared table
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM query('SELECT 1 AS price')
