-- code: star
-- underlined: USER_MEAN(*)
-- says: only COUNT, FREQUENCY and MEASURE
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) USER_MEAN(*) FROM visits
