-- code: unknown-column
-- underlined: kinds.name
-- says: its columns are category, sector
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(rent) FROM visits JOIN kinds ON visits.category = kinds.name
