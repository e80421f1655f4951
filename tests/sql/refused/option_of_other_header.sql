-- code: unknown-option
-- underlined: epsilon
-- says: belongs to USER_PRIVACY
SELECT WITH EMD_PRIVACY OPTIONS (epsilon = 1) AVG(price) FROM visits
