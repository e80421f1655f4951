-- code: count-filtered
-- underlined: COUNT(DISTINCT user_id)
-- says: SHARE()
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) COUNT(DISTINCT user_id) FROM visits WHERE category = 'cafe'
