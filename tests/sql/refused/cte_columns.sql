-- code: column-aliases
-- underlined: cost
-- says: AS in the select list
WITH q(cost) AS (SELECT price FROM visits) SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(cost) FROM q
