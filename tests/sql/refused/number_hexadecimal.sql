-- code: number
-- underlined: 0x10
-- says: neither a number nor a name
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price * 0x10) FROM visits
