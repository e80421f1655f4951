-- Totals and the mean of records under one cap and one draw of noise.
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 20)
       COUNT(*)                                                 AS check_ins,
       SUM(CLAMP(DISTANCE(POINT(40.7484, -73.9857)), 0, 20))    AS kilometres,
       AVG(CLAMP(DISTANCE(POINT(40.7484, -73.9857)), 0, 20))    AS kilometres_each
FROM gowalla;
