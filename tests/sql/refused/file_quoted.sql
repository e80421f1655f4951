-- code: file
-- underlined: "visits.parquet"
-- says: declare the file
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM "visits.parquet"
