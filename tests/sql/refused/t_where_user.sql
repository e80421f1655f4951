-- code: user-column
-- underlined: user_id
-- says: no part of an item
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE user_id = 3
