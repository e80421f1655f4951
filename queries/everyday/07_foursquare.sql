-- How many check-ins have no category, of a hundred?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 100)
       100 * COUNT_IF(category IS NULL) / COUNT(*) AS percent
FROM foursquare;
