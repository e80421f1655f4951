-- code: recursive
-- underlined: WITH RECURSIVE q AS (SELECT price FROM visits)
-- says: plain WITH
WITH RECURSIVE q AS (SELECT price FROM visits) SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM q
