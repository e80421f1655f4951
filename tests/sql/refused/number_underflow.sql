-- code: number
-- underlined: 1e-400
-- says: range of a double
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price * 1e-400) FROM visits
