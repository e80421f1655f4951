-- By category: the groups are the public list, empty ones included.
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 40)
       category,
       AVG(DISTANCE(POINT(40.7484, -73.9857))) AS km_to_midtown
FROM foursquare
GROUP BY category
ORDER BY km_to_midtown;
