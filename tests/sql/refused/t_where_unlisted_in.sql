-- code: unlisted-value
-- underlined: 'b'
-- says: none of the 4 values
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category IN ('cafe', 'b')
