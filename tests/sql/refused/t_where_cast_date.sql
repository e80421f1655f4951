-- code: implicit-cast
-- underlined: '2025-03-01'
-- says: DATE '2026-11-20'
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE joined > '2025-03-01'
