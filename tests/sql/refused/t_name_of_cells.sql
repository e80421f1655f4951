-- code: duplicate-name
-- underlined: FREQUENCY(category) AS category
-- says: FREQUENCY says in category what a row counts
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) FREQUENCY(category) AS category FROM visits
