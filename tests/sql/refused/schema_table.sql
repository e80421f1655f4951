-- code: qualified-table
-- underlined: information_schema
-- says: declared table
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM information_schema.tables
