-- How far from midtown do people check in? Every person weighs the same.
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 20)
       AVG(DISTANCE(POINT(40.7484, -73.9857))) AS km_to_midtown
FROM foursquare;
