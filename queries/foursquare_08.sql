-- Quartiles of the distance to the nearer of two centres.
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 40)
       QUANTILE(DISTANCE(POINT(40.7484, -73.9857), POINT(40.6782, -73.9442)), 0.25, 0.5, 0.75) AS km_to_a_centre
FROM foursquare;
