-- Mean and spread; the mean gets two thirds of alpha.
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 60, delta = 1e-10)
       WEIGHT(AVG(LEAST(DISTANCE(POINT(40.7484, -73.9857)), 30)), 2) AS km,
       STDDEV(LEAST(DISTANCE(POINT(40.7484, -73.9857)), 30))         AS spread
FROM foursquare;
