-- code: aggregate-order
-- underlined: price ORDER BY hour
-- says: leave ORDER BY out
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price ORDER BY hour) FROM visits
