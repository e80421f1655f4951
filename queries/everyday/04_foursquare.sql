-- When do people check in, by the clocks of New York?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 100)
       HOUR(ts AT TIME ZONE 'America/New_York') AS hour, COUNT(*) AS check_ins
FROM foursquare
GROUP BY hour
ORDER BY hour;
