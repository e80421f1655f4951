-- code: string-prefix
-- underlined: N'park'
-- says: plain '..' string
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category = N'park'
