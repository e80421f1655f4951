-- code: unknown-table
-- underlined: visit
-- says: write visits
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visit
