-- code: unknown-privacy
-- underlined: DIFFERENTIAL_PRIVACY
-- says: WITH EMD_PRIVACY
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) AVG(price) FROM visits
