-- The middle of the distances; a distribution function under user-level privacy.
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 2) MEDIAN(LEAST(DISTANCE(POINT(40.7484, -73.9857)), 20)) AS km
FROM gowalla;
