-- code: cross-join
-- underlined: CROSS JOIN stations
-- says: repeats every record
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits CROSS JOIN stations
