-- code: qualified-column
-- underlined: main
-- says: table.column
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(main.visits.price) FROM visits
