-- code: unknown-table
-- underlined: purchases
-- says: private table is visits
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM purchases
