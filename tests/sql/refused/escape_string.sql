-- code: string-prefix
-- underlined: E'pa\x72k'
-- says: plain '..' string
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category = E'pa\x72k'
