-- code: set-operation
-- underlined: UNION
-- says: both sides
WITH q AS (SELECT price FROM visits UNION SELECT price FROM stations) SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM q
