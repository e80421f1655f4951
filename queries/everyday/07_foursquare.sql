-- How many check-ins have no category, of a hundred?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 100)
       AVG(CASE WHEN category IS NULL THEN 100 ELSE 0 END) AS percent
FROM foursquare;
