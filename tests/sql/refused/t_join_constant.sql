-- code: join-condition
-- underlined: kinds.category = 'cafe'
-- says: ON visits.column = kinds.column
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(rent) FROM visits JOIN kinds ON kinds.category = 'cafe'
