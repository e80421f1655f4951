-- code: having
-- underlined: HAVING n > 10
-- says: private values
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, max_records_per_user = 50) COUNT(*) AS n FROM visits GROUP BY category HAVING n > 10
