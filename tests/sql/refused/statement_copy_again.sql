-- code: copy
-- underlined: COPY
-- says: COPY is refused
COPY (SELECT 1) TO '/tmp/x.parquet' (FORMAT parquet)
