-- code: measure-source
-- underlined: MEASURE(nyc)
-- says: leave the header out
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM MEASURE(nyc)
