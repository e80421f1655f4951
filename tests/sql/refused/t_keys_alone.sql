-- code: no-aggregate
-- underlined: category
-- says: AVG(e) or SHARE()
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) category FROM visits GROUP BY category
