-- code: join-key
-- underlined: price = seats
-- says: user_id, category
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(rent) FROM visits JOIN kinds ON price = seats
