-- code: qualified-table
-- underlined: main
-- says: out of reach
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM other.main.visits
