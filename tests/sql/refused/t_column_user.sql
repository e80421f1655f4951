-- code: user-column
-- underlined: user_id
-- says: COUNT(DISTINCT user_id)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(user_id) FROM visits
