-- code: number
-- underlined: 12abc
-- says: neither a number nor a name
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price * 12abc) FROM visits
