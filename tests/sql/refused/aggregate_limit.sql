-- code: unsupported
-- underlined: price LIMIT 3
-- says: not part of the language
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price LIMIT 3) FROM visits
