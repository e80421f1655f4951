-- code: nested-aggregate
-- underlined: SUM(price)
-- says: its own place
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price - SUM(price)) FROM visits
