-- code: values
-- underlined: (VALUES (1), (2)) AS v(x)
-- says: public tables
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(x) FROM (VALUES (1), (2)) AS v(x)
