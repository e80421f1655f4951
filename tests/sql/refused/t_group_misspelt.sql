-- code: syntax
-- underlined: GROPU
-- says: write GROUP
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROPU BY category
