-- code: syntax
-- underlined: b
-- says: does not fit
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) AS a b FROM visits
