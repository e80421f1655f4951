-- code: option-value
-- underlined: far_point = 1
-- says: must be TRUE or FALSE
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, far_point = 1) AVG(DISTANCE(POINT(40.7, -74.0))) FROM visits
