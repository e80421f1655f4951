-- code: table-function
-- underlined: read_parquet('s3://bucket/*.parquet') AS p
-- says: declared table
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM read_parquet('s3://bucket/*.parquet') AS p
