-- Weekends: the mean among the chosen records, and their number.
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 2, max_records_per_user = 20)
       AVG(LEAST(DISTANCE(POINT(40.7484, -73.9857)), 20)) AS km_to_midtown,
       COUNT(*)                                           AS weekend_check_ins
FROM gowalla
WHERE EXTRACT(DOW FROM ts) IN (0, 6);
