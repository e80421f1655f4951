-- code: bitwise
-- underlined: ~hour
-- says: slope
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(~hour) FROM visits
