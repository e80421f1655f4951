-- code: tree-noise
-- underlined: noise = 'tree'
-- says: is of MEASURE
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, noise = 'tree') AVG(DISTANCE(POINT(40.7, -74.0))) FROM visits
