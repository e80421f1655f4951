-- code: table-parentheses
-- underlined: (visits JOIN kinds USING (category))
-- says: the tables of a JOIN stand without parentheses; remove them
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM (visits JOIN kinds USING (category))
