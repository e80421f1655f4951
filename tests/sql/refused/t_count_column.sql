-- code: count-expression
-- underlined: COUNT(price)
-- says: COUNT(*)
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, max_records_per_user = 5) COUNT(price) FROM visits
