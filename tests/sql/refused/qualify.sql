-- code: qualify
-- underlined: QUALIFY ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY price) = 1
-- says: window
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY price) = 1
