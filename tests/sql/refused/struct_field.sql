-- code: struct
-- underlined: a.b.c.d.e
-- says: FUNCTION(value)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(a.b.c.d.e) FROM visits
