-- code: join-many
-- underlined: twice.category = visits.category
-- says: several rows for cafe
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(x) FROM visits JOIN twice ON twice.category = visits.category
