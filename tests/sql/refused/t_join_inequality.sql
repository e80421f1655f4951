-- code: join-condition
-- underlined: kinds.category <> visits.category
-- says: equal on both sides
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(rent) FROM visits JOIN kinds ON kinds.category <> visits.category
