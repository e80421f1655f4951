-- code: distinct-aggregate
-- underlined: DISTINCT price
-- says: which private values
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0, max_records_per_user = 50) SUM(DISTINCT price) FROM visits
