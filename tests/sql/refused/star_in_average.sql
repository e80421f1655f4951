-- code: star
-- underlined: AVG(*)
-- says: only COUNT, FREQUENCY and MEASURE take a star
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(*) FROM visits
