-- How many check-ins has a person?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1)
       COUNT(*) / COUNT(DISTINCT user_id) AS each
FROM foursquare;
