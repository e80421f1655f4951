-- code: bitwise
-- underlined: hour & 1
-- says: slope
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(hour & 1) FROM visits
