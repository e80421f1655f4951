-- code: materialized
-- underlined: q AS MATERIALIZED (SELECT price FROM visits)
-- says: engine
WITH q AS MATERIALIZED (SELECT price FROM visits) SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM q
