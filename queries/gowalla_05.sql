-- Gaussian noise, because it was asked for.
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, delta = 1e-9, max_records_per_user = 20, noise = 'gaussian')
       COUNT(*) AS check_ins,
       SUM(RAMP(DISTANCE(POINT(40.7484, -73.9857)), 2, 1)) AS near_midtown,
       SUM(RAMP(DISTANCE(POINT(40.6413, -73.7781)), 3, 2)) AS near_the_airport
FROM gowalla;
