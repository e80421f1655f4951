-- code: star
-- underlined: visits.*
-- says: no guarantee
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) visits.* FROM visits
