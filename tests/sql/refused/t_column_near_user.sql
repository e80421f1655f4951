-- code: unknown-column
-- underlined: usr_id
-- says: the columns to use are lat, lon
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(usr_id) FROM visits
