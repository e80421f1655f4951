-- code: point-without-column
-- underlined: DISTANCE(2)
-- says: DISTANCE(gate, 2) or DISTANCE(fare, 2)
-- about: trips
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(2)) FROM visits
