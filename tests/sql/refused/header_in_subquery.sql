-- code: nested-header
-- underlined: WITH EMD_PRIVACY
-- says: outermost SELECT
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM (SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) price FROM visits) AS q
