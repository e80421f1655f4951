-- code: struct
-- underlined: price.abs()
-- says: FUNCTION(value)
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price.abs()) FROM visits
