-- code: row
-- underlined: ()
-- says: one by one
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits GROUP BY ()
