-- code: distinct-aggregate
-- underlined: DISTINCT user_id, category
-- says: which private values
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) COUNT(DISTINCT user_id, category) FROM visits
