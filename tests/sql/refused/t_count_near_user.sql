-- code: unknown-column
-- underlined: usr_id
-- says: write user_id
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) COUNT(DISTINCT usr_id) FROM visits
