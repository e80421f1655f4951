-- code: join-users-missing
-- underlined: p.user_id = v.user_id
-- says: 4 of 6 public users
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits v JOIN partial p ON p.user_id = v.user_id
