-- code: measure-user-level
-- underlined: MEASURE(*)
-- says: all of a user's records may change
SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1.0) MEASURE(*) FROM visits
