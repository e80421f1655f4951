-- code: count-distinct
-- underlined: COUNT(DISTINCT category)
-- says: COUNT(DISTINCT user_id)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) COUNT(DISTINCT category) FROM visits
