-- How many different places are there?
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1)
       COUNT(DISTINCT place) AS places
FROM foursquare;
