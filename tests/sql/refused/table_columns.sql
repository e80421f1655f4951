-- code: column-aliases
-- underlined: a
-- says: AS in the select list
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(a) FROM visits AS v(a, b)
