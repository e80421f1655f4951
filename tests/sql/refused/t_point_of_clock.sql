-- code: point-outside
-- underlined: 25
-- says: such as 1
-- about: clock
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(25)) FROM visits
