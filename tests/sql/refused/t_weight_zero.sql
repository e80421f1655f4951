-- code: weight
-- underlined: 0
-- says: above 0
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) WEIGHT(AVG(price), 0) FROM visits
