-- code: table-function
-- underlined: duckdb_settings()
-- says: declared table
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(value) FROM duckdb_settings()
