-- code: date
-- underlined: DATE '2025-02-31'
-- says: no such date
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE joined > DATE '2025-02-31'
