-- code: syntax
-- underlined: (
-- says: does not fit
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits MATCH_RECOGNIZE (PATTERN (a))
