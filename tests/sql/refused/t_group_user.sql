-- code: group-by-user
-- underlined: user_id
-- says: public column of the users
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY user_id
