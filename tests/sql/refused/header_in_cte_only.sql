-- code: nested-header
-- underlined: WITH EMD_PRIVACY
-- says: outermost SELECT
WITH q AS (SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) price FROM visits) SELECT AVG(price) FROM q
