-- code: number
-- underlined: 1e
-- says: is no number
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price * 1e) FROM visits
