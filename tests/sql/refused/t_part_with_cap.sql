-- code: cap-unused
-- underlined: PART(price)
-- says: SUM(e)
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, max_records_per_user = 5) PART(price) FROM visits
