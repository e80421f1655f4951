-- code: not-given-back
-- underlined: [
-- says: another way
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WHERE category IN ['a', 'b']
