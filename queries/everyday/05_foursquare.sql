-- Which weekdays are bars full on?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 20)
       DAYOFWEEK(ts AT TIME ZONE 'America/New_York') AS day, COUNT(*) AS check_ins
FROM foursquare
WHERE category = 'Bar'
GROUP BY day
ORDER BY day;
