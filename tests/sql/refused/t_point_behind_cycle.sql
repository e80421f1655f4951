-- code: point-outside
-- underlined: 24
-- says: such as 0
-- about: fq
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(DISTANCE("time(ts)", 8, 24)) FROM visits
