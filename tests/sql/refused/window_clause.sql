-- code: window
-- underlined: w AS (PARTITION BY category)
-- says: several users
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0) AVG(price) FROM visits WINDOW w AS (PARTITION BY category)
