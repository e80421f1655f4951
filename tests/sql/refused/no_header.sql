-- code: no-header
-- underlined: SELECT
-- says: WITH EMD_PRIVACY
SELECT AVG(price) FROM visits
