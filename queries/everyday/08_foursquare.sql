-- How far north does the middle check-in lie?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 100)
       MEDIAN(lat) AS lat
FROM foursquare;
