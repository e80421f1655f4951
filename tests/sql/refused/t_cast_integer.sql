-- code: cast
-- underlined: CAST(price AS INTEGER)
-- says: write price alone
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(CAST(price AS INTEGER)) FROM visits
