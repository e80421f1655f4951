-- code: using-key
-- underlined: q USING KEY (a) AS (SELECT price AS a FROM visits)
-- says: recursive
WITH q USING KEY (a) AS (SELECT price AS a FROM visits) SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(a) FROM q
