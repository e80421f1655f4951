-- code: distinct-on
-- underlined: DISTINCT ON (user_id)
-- says: one record of several
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) DISTINCT ON (user_id) price FROM visits
