-- code: unbounded-slope
-- underlined: 1 / (price - 50)
-- says: range [-50, 50]
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(1 / (price - 50)) FROM visits
