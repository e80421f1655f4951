-- code: star
-- underlined: USER_MEAN(*)
-- says: only COUNT and FREQUENCY
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) USER_MEAN(*) FROM visits
