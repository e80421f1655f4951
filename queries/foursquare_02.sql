-- Which share of a person's check-ins is near midtown? 1 within 1 km, 0 beyond 2 km.
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 20)
       AVG(RAMP(DISTANCE(POINT(40.7484, -73.9857)), 2, 1)) AS near_midtown
FROM foursquare;
