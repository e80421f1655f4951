-- code: star
-- underlined: *
-- says: aggregates
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) * FROM visits
