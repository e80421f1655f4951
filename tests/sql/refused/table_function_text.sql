-- code: table-function
-- underlined: read_text('/proc/self/environ')
-- says: declared table
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(content) FROM read_text('/proc/self/environ')
