-- code: lateral
-- underlined: LATERAL (SELECT price AS x) AS l
-- says: every record
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(x) FROM visits, LATERAL (SELECT price AS x) AS l
