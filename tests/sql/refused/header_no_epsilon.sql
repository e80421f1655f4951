-- code: option-missing
-- underlined: USER_PRIVACY
-- says: epsilon
SELECT WITH USER_PRIVACY OPTIONS (delta = 1e-9) COUNT(*) FROM visits
