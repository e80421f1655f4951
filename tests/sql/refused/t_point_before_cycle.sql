-- code: point-outside
-- underlined: -73.9857
-- says: outside [0, 24), the values of "time(ts)"; write a number in there, such as 22.0143
-- about: fq
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE("time(ts)", -73.9857)) FROM visits
