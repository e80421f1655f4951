-- Every person weighs the same where no cap is given: the whole range of the expression must be hidden.
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1)
       AVG(LEAST(DISTANCE(POINT(40.7484, -73.9857)), 20)) AS km_to_midtown
FROM gowalla;
