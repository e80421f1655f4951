-- code: point-outside
-- underlined: 50.5
-- says: outside [0, 50], the values of price; write a number in there, such as 50
-- about: line
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE(50.5)) FROM visits
